/** Slots for turns: a total, and limits for some providers. In memory, because turns are too. */
export interface Slots {
  hasFree(): boolean;
  /** Providers without a free slot. */
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
