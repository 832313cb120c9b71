import type { OwnCall } from './own-tool.ts';
import type { Action } from './policy.ts';

export type Permission = { readonly allowed: true } | { readonly allowed: false; readonly message: string };

/** Decides about the calls of a turn's program. */
export interface Guard {
  /** What the policies say, without asking anybody. */
  verdict(call: OwnCall): Action;
  /** Whether the call may be made now. Where a person has to approve it, uses up the grant or asks. Never rejects. */
  permit(call: OwnCall): Promise<Permission>;
}
