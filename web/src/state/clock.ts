import { signal } from '@preact/signals';

/** The present, for durations that count on the page. It moves once a second, and stands while nobody looks. */
export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 1000);
