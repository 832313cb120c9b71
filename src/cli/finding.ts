/** A result of `doctor`. */
export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly detail: string;
  /** How to fix it. */
  readonly mend?: string;
}
