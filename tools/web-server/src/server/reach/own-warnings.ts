import type { BoardNotices } from '@callboard/contract';
import type { OrchestratorClient } from '../orchestrator/client.ts';

/** The orchestrator, with a warning of the web server's own above the board. */
export interface ClientWithWarning {
  client: OrchestratorClient;
  /** Shows a warning in place of the last one; null for none. */
  warn(text: string | null): void;
}

/** Adds the web server's own warning to what the orchestrator tells of the board. */
export function withOwnWarning(inner: OrchestratorClient): ClientWithWarning {
  const listeners = new Set<(notices: BoardNotices) => void>();
  let own: string | null = null;

  const all = (warnings: readonly string[]): string[] => (own === null ? [...warnings] : [own, ...warnings]);
  const withOwn = (notices: BoardNotices): BoardNotices => ({ ...notices, warnings: all(notices.warnings) });

  const client: OrchestratorClient = {
    ...inner,
    async send(type, input, options) {
      const reply = await inner.send(type, input, options);
      if (type !== 'get_board' || !('warnings' in reply) || !Array.isArray(reply.warnings)) return reply;
      return Object.assign(reply, { warnings: all(reply.warnings) });
    },
    listen(listener) {
      const { notices } = listener;
      if (notices === undefined) return inner.listen(listener);
      listeners.add(notices);
      const end = inner.listen({ ...listener, notices: (reported) => notices(withOwn(reported)) });
      return () => {
        listeners.delete(notices);
        end();
      };
    },
    notices() {
      const reported = inner.notices();
      return reported === null ? null : withOwn(reported);
    },
  };

  return {
    client,
    warn(text) {
      own = text;
      const reported = client.notices();
      if (reported !== null) for (const listener of listeners) listener(reported);
    },
  };
}
