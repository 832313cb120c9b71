import { EXTERNAL_AGENT } from './companions/external.ts';
import { ROOM_MEMBERS } from './companions/rounds.ts';
import { team } from './plan.ts';

/** Every agent of the configuration; spawned ones end by themselves. */
export const standing: readonly string[] = [...Object.keys(team), ...ROOM_MEMBERS, EXTERNAL_AGENT];
