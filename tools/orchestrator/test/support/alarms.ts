import type { SessionAlarm } from '@callboard/contract';
import type { Limit, TestClient } from './client.ts';

/** Watches the alarms that the clients of a test receive. */
export interface WatchedAlarms {
  /** Also watches this client from now on. */
  watch(client: TestClient): void;
  /** Waits until the stage's session is under alarm, and expects that alarm from now on. */
  wait(client: TestClient, stageId: string, limit?: Limit): Promise<SessionAlarm>;
  /** @throws if a session came under an alarm that nobody waited for */
  requireExpected(): void;
}

export function watchAlarms(): WatchedAlarms {
  const clients: TestClient[] = [];
  const expected = new Set<string>();
  return {
    watch: (client) => void clients.push(client),
    async wait(client, stageId, limit) {
      expected.add(stageId);
      const { alarm } = await client.event(
        'session-updated',
        (reported) => reported.stageId === stageId && reported.alarm !== null,
        limit,
      );
      if (alarm === null) throw new Error('no alarm'); // cannot happen: the wait above requires an alarm
      return alarm;
    },
    requireExpected() {
      const raised = clients.flatMap(({ init, events }) => [
        ...init.data.stages.map(({ session }) => session),
        ...events.map((event) => (event.type === 'session-updated' ? event.data : null)),
      ]);
      for (const session of raised) {
        if (session?.alarm == null || expected.has(session.stageId)) continue;
        throw new Error(`${session.stageId} came under an alarm: ${JSON.stringify(session.alarm)}`);
      }
    },
  };
}
