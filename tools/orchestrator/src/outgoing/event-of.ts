import { hash } from 'node:crypto';
import { DEFAULT_ALERTS, visibleText, type WebhookEvent } from '@callboard/contract';
import type { notificationOf, settledNotificationOf } from '../push/notification-words.ts';
import type { AnnouncementRecord, DeliveryPhase } from '../store/announcement-records.ts';
import type { Tables } from '../store/store.ts';

/** The words of pushed notifications, which calls use as well. */
export interface CallTexts {
  announced: typeof notificationOf;
  settled: typeof settledNotificationOf;
}

interface EventDeps {
  tables: Pick<Tables, 'stages' | 'projects' | 'requests' | 'sessions'>;
  text: CallTexts;
  /** The origin that people open; null if that is not known. */
  publicUrl: string | null;
}

/** In one line, with everything visible. */
const line = (text: string): string => visibleText(text.replaceAll(/\s+/g, ' ').trim(), 'prose');

/** Returns what is told about an announcement: that it stands, or that nobody is needed for it any more. */
export async function eventOf(
  { tables, text, publicUrl }: EventDeps,
  announcement: AnnouncementRecord,
  phase: DeliveryPhase,
): Promise<WebhookEvent> {
  const { key, signal, stageId, requestId, madeAt, settledAt } = announcement;
  const stage = await tables.stages.find(stageId);
  const project = stage === null ? null : await tables.projects.find(stage.projectId);
  const stored = requestId === null ? null : await tables.requests.find(stageId, requestId);
  const isSettled = phase === 'settled' || settledAt !== null;
  const request = stored?.decision === null ? stored.request : null;
  const because = (await tables.sessions.find(stageId))?.lastTurn?.message ?? '';
  const reported = isSettled
    ? text.settled(announcement, { stage, decision: stored?.decision ?? null })
    : text.announced(announcement, { stage, request, settings: DEFAULT_ALERTS, because });
  return {
    id: eventId(`${key} ${phase}`),
    type: isSettled ? 'settled' : signal,
    timestamp: isSettled ? (settledAt ?? madeAt) : madeAt,
    data: {
      signal,
      title: line(reported.title),
      text: reported.body,
      url: publicUrl === null ? null : new URL(reported.path, publicUrl).href,
      project: project && { id: project.id, name: project.name },
      stage: stage && { id: stage.id, title: stage.title },
      request: stored && { id: stored.request.requestId, kind: stored.request.kind, toolName: stored.request.toolName },
    },
  };
}

/** Returns the event of a test. */
export const testEvent = (id: string, timestamp: string, publicUrl: string | null): WebhookEvent => ({
  id: eventId(`test ${id}`),
  type: 'test',
  timestamp,
  data: {
    signal: 'finished',
    title: 'Callboard',
    text: 'Calls from Callboard will arrive here.',
    url: publicUrl,
    project: null,
    stage: null,
    request: null,
  },
});

const eventId = (from: string): string => `msg_${hash('sha256', from, 'base64url').slice(0, 27)}`;
