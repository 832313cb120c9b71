import type { Description, Fields, ProgramFields } from '../description.ts';

export const scripted = {
  name: 'scripted',
  sessionPaths: [],
  settings: ({ program }: Fields): ProgramFields => program,
  runsOwnProgram: true,
} as const satisfies Description;
