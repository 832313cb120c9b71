import type { ComponentChildren } from 'preact';
import type { Loaded } from '../state/load.ts';
import { Failure, Waiting } from './empty.tsx';

/** Shows what was read, grey lines before that, or what failed and how to try again. */
export function Loading<T>({
  of,
  children,
}: {
  readonly of: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}) {
  if (of.value !== null) return <>{children(of.value)}</>;
  return of.problem === null ? <Waiting /> : <Failure error={of.problem} retry={of.reload} />;
}
