import { type PendingRequest, visibleText } from '@callboard/contract';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { exactTime, shortDuration } from '../../../lib/format.ts';
import { useNow } from '../../../lib/use-now.ts';
import { KindIcon } from '../../../ui/kind-icon.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useFolder, usePhaseName, useProjectName, useStageTitle } from '../api/use-request.ts';
import { requestText } from '../words/request-words.ts';
import { LaterButton } from './later-button.tsx';
import css from './request-head.module.css';

interface RequestHeadProps {
  request: PendingRequest;
  /** False where the page itself says which stage this is. */
  hasCrumbs?: boolean;
  /** False where a link to the stage is beside it. */
  linksStage?: boolean;
  /** Where it stands among those that wait. */
  position?: ReactNode;
  /** All that wait here. */
  all?: readonly PendingRequest[];
}

/** The head of a request's form: which stage asks, for what, since when, and Later. */
export function RequestHead({ request, hasCrumbs = true, linksStage = true, position, all }: RequestHeadProps) {
  const { stageId, kind, toolName } = request;
  const text = requestText(request, useFolder(stageId));
  const aside = (
    <div className={css.aside}>
      {position !== undefined && position !== '' && <span className={css.position}>{position}</span>}
      <LaterButton request={request} {...(all && { all })} />
    </div>
  );
  return (
    <header className={css.head}>
      {hasCrumbs && (
        <div className={css.top} data-long={typeof position === 'string' && position.includes('inbox')}>
          <Crumbs request={request} linksStage={linksStage} />
          {aside}
        </div>
      )}
      <div className={css.ask} data-has-aside={!hasCrumbs}>
        <h2 className={css.title}>
          <span className={css.icon}>
            <KindIcon kind={kind} toolName={toolName} size={18} />
          </span>
          {text}
        </h2>
        <Asked request={request} />
        {!hasCrumbs && aside}
      </div>
    </header>
  );
}

function Crumbs({ request: { stageId }, linksStage }: { request: PendingRequest; linksStage: boolean }) {
  const project = useProjectName(stageId);
  const title = useStageTitle(stageId);
  const phase = usePhaseName(stageId);
  return (
    <div className={css.crumbs}>
      {project !== undefined && (
        <span className={css.project}>
          <ProjectMark name={project} />
          {project}
        </span>
      )}
      {linksStage ? (
        <Link className={css.stage} to={`/stages/${stageId}`} title={title}>
          {title}
        </Link>
      ) : (
        <span className={css.stage} title={title}>
          {title}
        </span>
      )}
      <span className={css.id}>
        <StageIdText id={stageId} />
      </span>
      {phase !== undefined && <span className={css.phase}>{phase}</span>}
    </div>
  );
}

/** When it was asked, by which agent, and when it expires. */
function Asked({ request: { createdAt, agent, parentAgent, expiresAt } }: { request: PendingRequest }) {
  return (
    <p className={css.asked}>
      asked <TimeSince at={createdAt} ago />
      {agent !== null && ` by agent “${visibleText(agent, 'prose')}”`}
      {parentAgent !== null && `, started by agent “${visibleText(parentAgent, 'prose')}”`}
      {expiresAt !== null && <Expiry at={expiresAt} />}
    </p>
  );
}

/** When the request expires, if its project has a time limit. */
function Expiry({ at }: { at: string }) {
  return <span title={exactTime(at)}>, denied automatically in {shortDuration(Date.parse(at) - useNow())}</span>;
}
