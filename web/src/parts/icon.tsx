/** Outlines on a grid of 16; a path that begins with `*` is filled. */
const PATHS = {
  logo: ['*M2 4.5 8 2l6 2.5L8 7z', 'm2 8 6 2.5L14 8M2 11.5 8 14l6-2.5'],
  talk: ['M2.5 3.5h11V11H7l-3 2.5V11H2.5z'],
  need: ['M2.5 9 4 3h8l1.5 6v4h-11zM2.5 9H6l.8 1.6h2.4L10 9h3.5'],
  team: ['M8 5.2v3M3.8 10.5V8.2h8.4v2.3M6.2 1.8h3.6v3.4H6.2zM2 10.5h3.6v3.4H2zM10.4 10.5H14v3.4h-3.6z'],
  runs: ['M2 3.5h5M5 8h6M9 12.5h5'],
  memory: ['M3.5 3.5h9v9h-9zM6 1.5v2M10 1.5v2M6 12.5v2M10 12.5v2M1.5 6h2M1.5 10h2M12.5 6h2M12.5 10h2'],
  knowledge: ['M8 4C6.5 3 4.5 2.7 2.5 3v9.5c2-.3 4 0 5.5 1 1.5-1 3.5-1.3 5.5-1V3C11.5 2.7 9.5 3 8 4zm0 0v9.5'],
  workspaces: ['M2 4.5V12.5h12V5.5H8L6.5 3.5H2z'],
  costs: ['M2.5 13.5V9M6.2 13.5V5M9.8 13.5V7.5M13.5 13.5V2.5'],
  search: ['M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zM10.5 10.5l3.5 3.5'],
  theme: ['M13.5 8a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0z', '*M8 2.5v11a5.5 5.5 0 0 0 0-11z'],
  close: ['m4 4 8 8M12 4l-8 8'],
  copy: ['M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3'],
  more: [
    '*M1.7 8a1.3 1.3 0 1 0 2.6 0 1.3 1.3 0 1 0-2.6 0M6.7 8a1.3 1.3 0 1 0 2.6 0 1.3 1.3 0 1 0-2.6 0M11.7 8a1.3 1.3 0 1 0 2.6 0 1.3 1.3 0 1 0-2.6 0',
  ],
  back: ['M10 3 5 8l5 5'],
  plug: ['M5.5 1.5v3M10.5 1.5v3M3.5 4.5h9V8a4.5 4.5 0 0 1-9 0zM8 12.5v2'],
  phone: ['M4.5 1.5h7v13h-7zM7 12.5h2'],
  plus: ['M8 3v10M3 8h10'],
  edit: ['M3 13l.8-3L10.5 3.3l2.2 2.2L6 12.2z'],
  reply: ['M6 4 2.5 7.5 6 11M2.5 7.5H9a4 4 0 0 1 4 4V13'],
  face: ['M13.5 8a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0zM5.8 9.5c1 1.4 3.4 1.4 4.4 0M6 6.2v.6M10 6.2v.6'],
  bin: ['M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9'],
  clip: ['M13 7.5 7.8 12.7a3 3 0 0 1-4.3-4.3l5.4-5.3a2 2 0 0 1 2.8 2.8l-5.3 5.3a1 1 0 0 1-1.4-1.4L9.6 5.3'],
  file: ['M4 1.5h5l3 3v10H4zM9 1.5v3h3'],
  picture: ['M2 3h12v10H2zM2 11l3.5-3.5 3 3 2-2L14 12M10 6h.6'],
  leave: ['M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6'],
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {PATHS[name].map((path: string) =>
        path.startsWith('*') ? (
          <path key={path} d={path.slice(1)} fill="currentColor" />
        ) : (
          <path
            key={path}
            d={path}
            fill="none"
            stroke="currentColor"
            stroke-width="1.5"
            stroke-linecap="round"
            stroke-linejoin="round"
          />
        ),
      )}
    </svg>
  );
}
