import type { Decision, Receipt, Stage, StageId, TranscriptEntry } from '@callboard/contract';
import { requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import { receiptMarkdown } from './receipt-markdown.ts';
import { receiptOf } from './receipt-of.ts';

/** What people consented to in each stage. */
export interface Receipts {
  /** @throws Rejection `unknown_stage` */
  of(
    stageId: StageId,
  ): Promise<{ receipt: Receipt /** For the text of a pull request, or a git note. */; markdown: string }>;
}

const PAGE = 500;

export function createReceipts({ store }: { store: Pick<Store, 'read'> }): Receipts {
  const { read } = store;

  /** What was said before Callboard ran under nobody's eyes here, so it is left out. */
  async function entriesOf({ id: stageId, adopted }: Stage): Promise<TranscriptEntry[]> {
    const entries: TranscriptEntry[] = [];
    for (;;) {
      const page = await read.transcript.page(stageId, {
        after: entries.at(-1)?.index ?? adopted?.lastEntry ?? 0,
        before: undefined,
        limit: PAGE,
      });
      if (page.length === 0) return entries;
      entries.push(...page);
    }
  }

  async function decisionsOf(stageId: StageId): Promise<Decision[]> {
    const all: Decision[] = [];
    let before: string | undefined;
    for (;;) {
      const { decisions, next } = await read.requests.decisions({
        stageId,
        limit: PAGE,
        ...(before !== undefined && { before }),
      });
      all.push(...decisions);
      if (next === null) return all;
      before = next;
    }
  }

  return {
    async of(stageId) {
      const stage = await requireStage(read, stageId);
      const rules = await read.rules.listEver(stage.projectId, stageId);
      const receipt = receiptOf({
        stage,
        rules,
        entries: await entriesOf(stage),
        decisions: await decisionsOf(stageId),
      });
      return { receipt, markdown: receiptMarkdown(receipt) };
    },
  };
}
