import { effect, signal } from '@preact/signals';
import { remembered } from './storage.ts';

export type Theme = 'system' | 'light' | 'dark';

const stored = remembered('theme');
const initial = stored.get();
const theme = signal<Theme>(initial === 'light' || initial === 'dark' ? initial : 'system');

const storedContrast = remembered('contrast');
const contrast = signal(storedContrast.get() === 'more');

export function flipContrast(): void {
  contrast.value = !contrast.value;
  storedContrast.set(contrast.value ? 'more' : null);
}

/** Sets the theme on the document, now and whenever it changes. Without a choice, the system decides. */
export function applyTheme(): void {
  effect(() => {
    if (theme.value === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
    if (contrast.value) document.documentElement.dataset.contrast = 'more';
    else delete document.documentElement.dataset.contrast;
  });
}

export function flipTheme(): void {
  const isDark = theme.value === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme.value === 'dark';
  theme.value = isDark ? 'light' : 'dark';
  stored.set(theme.value);
}
