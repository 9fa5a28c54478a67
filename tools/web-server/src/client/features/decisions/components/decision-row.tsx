import { type BoardView, type Decision, isUnsettled, type StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { KindIcon } from '../../../ui/kind-icon.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { requestKinds } from '../../interaction/kinds/registry.ts';
import { arrivalText, verdictLabel, waitText } from '../model/log-words.ts';
import css from './decision-log.module.css';
import { LostNote } from './lost-note.tsx';
import { SettleActions } from './settle-actions.tsx';

/** One decision. Its reason, answers and changed input can be unfolded. */
export function DecisionRow({ decision }: { decision: Decision }) {
  const { outcome, at, asked, toolName, kind } = decision;
  const arrival = arrivalText(decision);
  return (
    <li className={css.row}>
      <div className={css.verdict} data-outcome={outcome}>
        {verdictLabel(decision)}
      </div>
      <div className={`${css.when} figures`}>
        <TimeSince at={at} ago />
      </div>
      <div className={css.what}>
        <div className={css.line}>
          <KindIcon kind={kind} toolName={toolName} />
          <code className={css.asked}>{asked === '' ? toolName : asked}</code>
        </div>
        <div className={css.facts}>
          <StageName decision={decision} />
          <span>{requestKinds[kind].name}</span>
          <span>{waitText(decision)}</span>
          {arrival !== null && <span>{arrival}</span>}
        </div>
        <Said decision={decision} />
        {decision.lost !== null && (
          <p className={css.said}>
            <LostNote lost={decision.lost} />
          </p>
        )}
        {isUnsettled(decision) && decision.isStageDeleted !== true && <SettleActions decision={decision} />}
      </div>
    </li>
  );
}

/** The stage's title, even if the stage was deleted since; another stage may have its id by now. */
function StageName({ decision: { stageId, stageTitle, isStageDeleted } }: { decision: Decision }) {
  const { data: title } = useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.title });
  const { data: project = '' } = useQuery({ ...boardQuery, select: projectNameOf(stageId) });
  if (title !== undefined && isStageDeleted !== true)
    return (
      <span className={css.stage}>
        <ProjectMark name={project} size={10} />
        <Link to={`/stages/${stageId}`}>{title}</Link>
        <StageIdText id={stageId} />
      </span>
    );
  return <span>{stageTitle == null ? stageId : `${stageTitle} (${stageId}, deleted)`}</span>;
}

const projectNameOf = (stageId: StageId) => (view: BoardView) => {
  const projectId = stageOf(stageId)(view)?.projectId;
  return view.projects.find(({ id }) => id === projectId)?.name;
};

/** The reason, the answers and the changed input. */
function Said({ decision: { reason, answers, updatedInput, inputChange } }: { decision: Decision }) {
  const parts: ReactNode[] = Object.entries(answers ?? {}).map(([question, answer]) => (
    <p className={css.said} key={question}>
      {question} <strong>{answer}</strong>
    </p>
  ));
  if (reason !== null) {
    parts.push(
      <p className={css.said} key="reason">
        {reason}
      </p>,
    );
  }
  if (inputChange !== undefined) {
    parts.push(
      <details key="hook">
        <summary>A hook had changed the call; what Claude wrote</summary>
        <pre className={css.input}>{JSON.stringify(inputChange.from, null, 2)}</pre>
      </details>,
    );
  }
  if (updatedInput !== null) {
    parts.push(
      <details key="input">
        <summary>What was sent</summary>
        <pre className={css.input}>{JSON.stringify(updatedInput, null, 2)}</pre>
      </details>,
    );
  }
  return <>{parts}</>;
}
