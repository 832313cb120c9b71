/** Places for turns: so many in all, and for some providers so many of theirs. Held in memory, because a turn is too. */
export interface Slots {
  hasFree(): boolean;
  /** Providers whose own places are taken. */
  fullProviders(): string[];
  take(provider: string): void;
  release(provider: string): void;
}

export function createSlots(total: number, byProvider: Readonly<Record<string, number>>): Slots {
  const taken = new Map<string, number>();
  let all = 0;
  const add = (provider: string, n: number): void => {
    all += n;
    taken.set(provider, (taken.get(provider) ?? 0) + n);
  };
  return {
    hasFree: () => all < total,
    fullProviders: () =>
      Object.keys(byProvider).filter((name) => (taken.get(name) ?? 0) >= (byProvider[name] as number)),
    take: (provider) => add(provider, 1),
    release: (provider) => add(provider, -1),
  };
}
