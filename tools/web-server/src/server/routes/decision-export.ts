import { csvLine, type Decision } from '@callboard/contract';

/** A file format with one line for each decision. */
export interface ExportFormat {
  contentType: string;
  extension: string;
  /** The first line; empty if the format has none. */
  head: string;
  line: (decision: Decision) => string;
}

const COLUMNS = [
  'at',
  'stageId',
  'requestId',
  'kind',
  'toolName',
  'asked',
  'toolUseId',
  'outcome',
  'by',
  'waitedMs',
  'reason',
  'answers',
  'updatedInput',
  'delivery',
  'lost',
  'settlement',
  'stageTitle',
  'projectId',
  'denial',
  'device',
] as const satisfies readonly (keyof Decision)[];

export const exportFormats = {
  csv: {
    contentType: 'text/csv; charset=utf-8',
    extension: 'csv',
    head: csvLine(COLUMNS),
    line: (decision) => csvLine(COLUMNS.map((column) => decision[column])),
  },
  jsonl: {
    contentType: 'application/jsonl; charset=utf-8',
    extension: 'jsonl',
    head: '',
    line: (decision) => `${JSON.stringify(decision)}\n`,
  },
} as const satisfies Record<string, ExportFormat>;

interface Page {
  decisions: Decision[];
  next: string | null;
}

/**
 * Yields the text of an export, page by page, with at most `limit` decisions. The caller fetches the first page, so that
 * its failure is known before anything is sent; a later failure ends the stream with the error.
 */
export async function* exportText(
  format: ExportFormat,
  first: Page,
  nextPage: (before: string) => Promise<Page>,
  limit: number,
): AsyncGenerator<string, void> {
  yield format.head;
  let left = limit;
  for (let page = first; ; page = await nextPage(page.next)) {
    const lines = page.decisions.slice(0, left).map(format.line);
    left -= lines.length;
    yield lines.join('');
    if (page.next === null || left === 0) return;
  }
}
