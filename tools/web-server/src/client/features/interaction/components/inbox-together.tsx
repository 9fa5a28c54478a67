import type { PendingRequest } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import { count } from '../../../lib/format.ts';
import { requestKey } from '../../../lib/request-text.ts';
import { useCanAnswer } from '../../../stream/stream-context.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { useShortcuts } from '../../../ui/shortcuts.ts';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { RisksLine } from '../../../ui/stakes-line.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import type { useDecideAll } from '../api/use-decide.ts';
import { useSetLater } from '../api/use-me.ts';
import { useFolder, useProjectName, useStageTitle } from '../api/use-request.ts';
import { useInboxPicks } from '../model/inbox-picks.ts';
import { requestText } from '../words/request-words.ts';
import { Why } from './approval-body.tsx';
import { AskedInput } from './asked-input.tsx';
import { DecisionSlot, type Press } from './decision-place.tsx';
import css from './inbox-together.module.css';
import { Viewed } from './looked-at.tsx';
import { AskedHost } from './network-body.tsx';
import request from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { StillSending } from './still-sending.tsx';
import { useLaterKey, useVerdictKeys } from './use-verdict-keys.ts';
import { VerdictButton } from './verdict-actions.tsx';

interface BatchProps {
  /** The picked requests, in the order of the list. */
  requests: readonly PendingRequest[];
  decideAll: ReturnType<typeof useDecideAll>;
}

/** Returns what `DecisionSlot` and `askFor` call these requests: other requests make another form. */
export const batchKey = (keys: readonly string[]): string => `together ${keys.join(' ')}`;

/** Several requests, each in whole, and the buttons that decide all of them once each was looked at. */
export function InboxBatch({ requests, decideAll }: BatchProps) {
  const about = batchKey(requests.map(requestKey));
  const stages = new Set(requests.map(({ stageId }) => stageId)).size;
  return (
    <DecisionSlot key={about} about={about} className={css.together} armsAlone={false}>
      <h2 className={css.title}>
        {count(requests.length, 'request', 'requests')} in {count(stages, 'stage', 'stages')}
      </h2>
      <ol className={css.list} aria-label="Picked requests">
        {requests.map((one) => (
          <BatchItem key={requestKey(one)} request={one} />
        ))}
      </ol>
      <BatchActions requests={requests} decideAll={decideAll} />
    </DecisionSlot>
  );
}

function BatchItem({ request }: { request: PendingRequest }) {
  const { stageId, kind, agent, parentAgent, createdAt, stakes } = request;
  const key = requestKey(request);
  const folder = useFolder(stageId);
  const title = useStageTitle(stageId);
  const project = useProjectName(stageId);
  const isChecked = useInboxPicks(({ looked }) => looked.has(key));
  return (
    <li className={css.item} data-item={key}>
      <div className={css.itemTop}>
        {project !== undefined && <ProjectMark name={project} />}
        <Link className={css.stage} to={`/stages/${stageId}`} title={title}>
          {title}
        </Link>
        <StageIdText id={stageId} />
        {isChecked && (
          <span className={css.looked}>
            <IconCheck size={14} aria-hidden /> looked at
          </span>
        )}
      </div>
      <p className={css.asked}>
        {requestText(request, folder)} Asked <TimeSince at={createdAt} ago />
        {agent !== null && ` by agent “${agent}”`}
        {parentAgent !== null && `, started by agent “${parentAgent}”`}
      </p>
      <RequestMeta request={request} />
      {kind === 'network' ? <AskedHost request={request} /> : <AskedInput request={request} folder={folder} isWhole />}
      <RisksLine stakes={stakes} />
      <Why request={request} folder={folder} />
      <Viewed about={key} />
    </li>
  );
}

function BatchActions({ requests, decideAll }: BatchProps) {
  const checked = useInboxPicks((state) => state.looked);
  const setLater = useSetLater();
  const n = requests.length;
  const open = requests.filter((one) => !checked.has(requestKey(one)));
  const off =
    !useCanAnswer() || decideAll.isPending || open.length > 0 || requests.some(({ held }) => held !== undefined);
  const decide = (decision: 'allow' | 'deny') => (press?: Press) =>
    decideAll.mutate({ requests, decision, hold: press?.isTap === true });
  const later = () => setLater.mutate({ requests, later: { until: null } });
  useVerdictKeys({ act: decide('allow'), isOff: off }, { act: decide('deny'), isOff: off });
  useLaterKey(later);
  const next = () => {
    const [first] = open;
    if (first === undefined) return false;
    document.querySelector(`[data-item="${CSS.escape(requestKey(first))}"]`)?.scrollIntoView({ block: 'start' });
    return true;
  };
  useShortcuts({ l: next });
  const sending = decideAll.isPending ? decideAll.variables.decision : null;
  return (
    <div className={request.actions}>
      <StillSending isPending={decideAll.isPending} />
      <div className={css.progress}>
        <span role="status">{open.length === 0 ? `All ${n} looked at` : `${n - open.length} of ${n} looked at`}</span>
        {open.length > 0 && (
          <Button variant="subtle" size="compact-sm" aria-keyshortcuts="l" onClick={next}>
            Next to look at
          </Button>
        )}
        <Button variant="subtle" color="gray" size="compact-sm" aria-keyshortcuts="s" onClick={later}>
          Later
        </Button>
      </div>
      <div className={request.buttons}>
        <VerdictButton
          label={`Deny all ${n}`}
          hint={'D'}
          variant={'default'}
          disabled={off}
          act={decide('deny')}
          loading={sending === 'deny'}
        />
        <VerdictButton
          label={`Allow all ${n}`}
          hint={'A'}
          variant={'filled'}
          disabled={off}
          act={decide('allow')}
          loading={sending === 'allow'}
        />
      </div>
    </div>
  );
}
