import type { PendingRequest, TranscriptEntry } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { client } from '../../../lib/api-client.ts';
import { toolText } from '../../../lib/tool-words.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { useFolder } from '../api/use-request.ts';
import css from './content.module.css';

const SHOWN = 3;
/** More than are shown, as decisions and the request's own call do not count as steps. */
const FETCHED = 12;

/** The stage's last steps before the request. */
export function LastSteps({ request }: { request: PendingRequest }) {
  const { stageId, requestId, toolUseId } = request;
  const folder = useFolder(stageId);
  const { data, error, refetch } = useQuery({
    queryKey: ['last-steps', stageId, requestId],
    queryFn: ({ signal }) => client.command('get_transcript', { stageId, limit: FETCHED }, { signal }),
  });
  if (error !== null)
    return <ErrorNote lead="The recent activity could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <p className={css.hint}>Reading …</p>;
  const steps = data.entries
    .filter((entry) => entry.kind !== 'tool-use' || entry.toolUseId !== toolUseId)
    .flatMap((entry) => {
      const text = stepText(entry, folder);
      return text === null ? [] : [{ index: entry.index, ...text }];
    })
    .slice(-SHOWN);
  if (steps.length === 0) return <p className={css.hint}>Nothing came before it.</p>;
  return (
    <ol className={css.steps}>
      {steps.map(({ index, who, text, isCode }) => (
        <li key={index}>
          <span className={css.hint}>{who}</span>
          <span className={isCode ? css.stepCode : css.stepText}>
            <Seen text={text} kind={isCode ? 'command' : 'prose'} />
          </span>
        </li>
      ))}
    </ol>
  );
}

interface Step {
  who: string;
  text: string;
  isCode: boolean;
}

function stepText(entry: TranscriptEntry, folder: string | null): Step | null {
  switch (entry.kind) {
    case 'user':
      return { who: entry.by ?? 'you', text: entry.text, isCode: false };
    case 'text':
      return { who: 'claude', text: entry.text, isCode: false };
    case 'tool-use': {
      const { verb, object, isCode } = toolText(entry.toolName, entry.input, folder);
      return { who: verb, text: object, isCode };
    }
    case 'tool-result':
      return { who: entry.isError ? 'failed' : 'result', text: entry.text, isCode: true };
    case 'notice':
      return { who: 'notice', text: entry.text, isCode: false };
    case 'thinking':
    case 'decision':
    case 'turn-end':
    case 'unknown':
      return null;
    default:
      return entry satisfies never;
  }
}
