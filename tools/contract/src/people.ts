import { z } from 'zod';
import { AlertSettings, DEFAULT_ALERTS } from './alerts.ts';
import { RequestId, StageId } from './ids.ts';

/**
 * How requests present themselves to a person: as a dialog over the page (`overlay`), docked beside it without ever taking
 * the focus (`panel`), or as a count and a card in the corner (`quiet`).
 */
export const Presentation = z.enum(['overlay', 'panel', 'quiet']);
export type Presentation = z.infer<typeof Presentation>;

/** A request that a person set aside. It stays open, and in the inbox. */
export const Later = z.object({
  stageId: StageId,
  requestId: RequestId,
  /** When it calls again; null: not by itself. */
  until: z.iso.datetime().nullable(),
});
export type Later = z.infer<typeof Later>;

/** What Callboard keeps for one person, the same on all their devices. A person is a name in the decision log. */
export const Me = z.object({
  name: z.string(),
  presentation: Presentation,
  later: z.array(Later),
  /** What is signalled to them, and how. */
  alerts: AlertSettings.default(DEFAULT_ALERTS),
});
export type Me = z.infer<typeof Me>;

/** A person whom nothing is kept for. */
export const NOBODY: Me = { name: '', presentation: 'overlay', later: [], alerts: DEFAULT_ALERTS };

/** Settings of a person; those that are left out stay. */
export const MePatch = z.strictObject({ presentation: Presentation.optional(), alerts: AlertSettings.optional() });

/** What a person looks at in a tab that they use: one stage, or a page that shows what all stages need. */
export const Viewing = z.union([z.literal('everything'), StageId]);
export type Viewing = z.infer<typeof Viewing>;
