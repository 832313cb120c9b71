/** Something that is due at a time. A kind and a key have one timer. */
export interface Timer {
  /** What happens then: the daemon has a handler for each kind. */
  readonly kind: string;
  /** To what it happens. */
  readonly key: string;
  /** By the wall clock. */
  readonly due: number;
}
