import type { SessionSummary, TokenUsage } from '@callboard/contract';

/** The session's cost and tokens, including the running turn as far as known. */
export function usageOf({ costUsd, tokens, turnUsage }: Pick<SessionSummary, 'costUsd' | 'tokens' | 'turnUsage'>): {
  costUsd: number;
  tokens: TokenUsage | null;
} {
  if (turnUsage === null) return { costUsd, tokens };
  const turn = turnUsage.tokens;
  return {
    costUsd: costUsd + turnUsage.costUsd,
    tokens: {
      input: (tokens?.input ?? 0) + turn.input,
      output: (tokens?.output ?? 0) + turn.output,
      cacheRead: (tokens?.cacheRead ?? 0) + turn.cacheRead,
      cacheCreation: (tokens?.cacheCreation ?? 0) + turn.cacheCreation,
    },
  };
}
