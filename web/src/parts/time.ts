const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const seconds = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const short = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const dates = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

const DAY = 86_400_000;
type Instant = string | number | Date;

/** A time of today is the clock's; an earlier one has its day. */
export function showClock(at: Instant): string {
  const date = new Date(at);
  return Date.now() - date.getTime() < DAY && isSameDay(date, new Date())
    ? clock.format(date)
    : `${short.format(date)}, ${clock.format(date)}`;
}

/** A date without a time, such as "2026-01-31", is a day in UTC. */
export const showDate = (of: string): string => dates.format(new Date(of));
export const showMinute = (at: Instant): string => clock.format(new Date(at));
export const showSecond = (at: Instant): string => seconds.format(new Date(at));
export const showFull = (at: Instant): string => full.format(new Date(at));

export function showDay(at: Instant): string {
  const date = new Date(at);
  const today = new Date();
  const name = day.format(date);
  if (isSameDay(date, today)) return `Today, ${name}`;
  return isSameDay(date, new Date(today.getTime() - DAY)) ? `Yesterday, ${name}` : name;
}

export function isSameDay(a: Date, b: Date): boolean {
  return a.toDateString() === b.toDateString();
}

/** "4 min", "1 h 30 min": how long something waits. */
export function showWait(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 48) return min % 60 === 0 ? `${h} h` : `${h} h ${min % 60} min`;
  return `${Math.floor(h / 24)} days`;
}

/** "1:08": how long a step took. */
export function showDuration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  const [h, min, rest] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60), String(s % 60).padStart(2, '0')];
  return h > 0 ? `${h}:${String(min).padStart(2, '0')}:${rest}` : `${min}:${rest}`;
}
