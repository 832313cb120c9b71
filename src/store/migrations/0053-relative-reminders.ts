/** Whether a reminder was set for a time from then on (`timeout`), and not for a time of the wall clock (`at`). */
export const relativeReminders = `
alter table reminders add column relative integer not null default 0;
`;
