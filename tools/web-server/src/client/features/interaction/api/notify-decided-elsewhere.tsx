import { byWhom, type Decision, type PendingRequest, type RequestOutcome, type StageView } from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { requestKey } from '../../../lib/request-text.ts';
import { TimeSince } from '../../../ui/time-since.tsx';
import { askSummary } from '../words/request-words.ts';

const VERBS: Record<RequestOutcome, string> = {
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
  'timed-out': 'Timed out',
  closed: 'Closed',
};

/** Whether a person decided the request, so that a decision stands. */
export const isAnswered = ({ outcome }: Decision): boolean => ['allowed', 'denied', 'answered'].includes(outcome);

interface Elsewhere {
  request: PendingRequest;
  stage: StageView | undefined;
  decision: Decision;
  /** Whether this tab sent an answer too, which came second. */
  isUnused: boolean;
}

/** Notifies that a request was decided in another tab, on another device or by another program: by whom, how and when. */
export function notifyDecidedElsewhere({ request, stage, decision, isUnused }: Elsewhere): void {
  const { outcome, at } = decision;
  notifications.show({
    // One notice per request, however many forms of it are open.
    id: requestKey(request),
    title: (
      <>
        {`${`${VERBS[outcome]} elsewhere ${byWhom(decision)}`.trim()}, `}
        <TimeSince at={at} ago />
      </>
    ),
    message: (
      <>
        <div>
          {shortened(`${stage?.title ?? request.stageId}: ${askSummary(request, stage?.worktree?.path ?? null)}`)}
        </div>
        {isUnused && <div>Your answer was not used.</div>}
      </>
    ),
    color: 'gray',
    autoClose: 15_000,
  });
}

const SHOWN = 160;
const shortened = (text: string): string => (text.length <= SHOWN ? text : `${text.slice(0, SHOWN - 1)}…`);
