/**
 * A token bucket per agent, in memory: a restart resets it, which is harmless. The clock may jump at any time: a jump
 * gives an agent at most a full bucket, and never makes it wait longer than for one call.
 */
export interface RateLimiter {
  /** Returns null if the call may proceed, otherwise the number of seconds to wait. */
  take(agentId: string, now: number): number | null;
  /** For a call that turned out to be exempt. */
  giveBack(agentId: string): void;
}

export function createRateLimiter(perMinute: number): RateLimiter {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const perMs = perMinute / 60_000;
  return {
    take: (agentId, now) => {
      const bucket = buckets.get(agentId) ?? { tokens: perMinute, at: now };
      const elapsed = Math.max(0, now - bucket.at);
      const tokens = Math.min(perMinute, bucket.tokens + elapsed * perMs);
      const allowed = tokens >= 1;
      // Delete and set keeps the map in order of use: the first entry is the least recently used, and full again.
      buckets.delete(agentId);
      buckets.set(agentId, { tokens: allowed ? tokens - 1 : tokens, at: now });
      const [oldest] = buckets;
      if (oldest && Math.abs(now - oldest[1].at) > 60_000) buckets.delete(oldest[0]);
      return allowed ? null : Math.max(1, Math.ceil((1 - tokens) / perMs / 1000));
    },
    giveBack: (agentId) => {
      const bucket = buckets.get(agentId);
      if (bucket) bucket.tokens = Math.min(perMinute, bucket.tokens + 1);
    },
  };
}
