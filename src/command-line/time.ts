const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** How long ago, for people: "4 min ago"; after a week the local date. */
export function ago(time: string, now = Date.now()): string {
  const age = now - Date.parse(time);
  if (age < 5000) return 'just now';
  return age < 7 * DAY ? `${span(age)} ago` : localTime(time, now);
}

/** A duration in its largest unit: "12 s", "4 min", "3 h", "2 days". `digits` are those of seconds below ten. */
export function span(ms: number, digits = 0): string {
  if (ms < 10_000 && digits > 0) return `${(Math.max(0, ms) / 1000).toFixed(digits)} s`;
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / 1000))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} days`;
}

/** In the local time zone: "17:30" today, "16 Nov 17:30" in the same year, otherwise with the year. */
export function localTime(time: string, now = Date.now()): string {
  const [at, today] = [new Date(time), new Date(now)];
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === today.toDateString()) return clock;
  const day = `${at.getDate()} ${MONTHS[at.getMonth()]}`;
  return at.getFullYear() === today.getFullYear() ? `${day} ${clock}` : `${day} ${at.getFullYear()} ${clock}`;
}

/** Hours, minutes and seconds of the local day. */
export function localClock(time: string): string {
  const at = new Date(time);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
}

function two(n: number): string {
  return String(n).padStart(2, '0');
}
