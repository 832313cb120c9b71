import { Icon } from '../parts/icon.tsx';
import { needs } from '../state/needs.ts';
import { href, route } from '../state/route.ts';
import { isOwner } from '../state/session.ts';
import { PLACES } from './places.ts';

/** The bottom bar of a phone. */
export function TabBar({ open, onMore }: { readonly open: boolean; readonly onMore: () => void }) {
  return (
    <nav class="tabbar" aria-label="Main">
      {PLACES.slice(0, 4)
        .filter(({ owner }) => !owner || isOwner.value)
        .map((place) => (
          <a
            key={place.page}
            href={href(place.page)}
            aria-current={!open && route.value[0] === place.page ? 'page' : undefined}
          >
            <Icon name={place.icon} />
            {place.name}
            {place.page === 'needs-me' && needs.value.length > 0 && <span class="count you">{needs.value.length}</span>}
          </a>
        ))}
      <button type="button" aria-expanded={open} onClick={onMore}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}
