import { resumeCommand, type StageView, shellQuote } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import type { ComponentType, ReactNode } from 'react';
import { Link } from 'react-router';
import { useBudget } from '../../../data/budgets.ts';
import { openBudgets } from '../../../data/budgets-dialog.ts';
import { boardQuery } from '../../../data/queries.ts';
import { cost, exactTime } from '../../../lib/format.ts';
import { modeLabel } from '../../../lib/permission-modes.ts';
import { usageOf } from '../../../lib/session-usage.ts';
import { BudgetRow } from '../../../ui/budget-meter.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { PromptFiles } from './prompt-files.tsx';
import { SessionSwitches } from './session-switches.tsx';
import { StageAtLimit } from './stage-at-limit.tsx';
import { StageFinish } from './stage-finish.tsx';
import { StageGroup } from './stage-group.tsx';
import css from './stage-head.module.css';
import { StageReceipt } from './stage-receipt.tsx';
import { SandboxOf } from './stage-sandbox.tsx';

/** How much the stage may spend. */
function BudgetOf({ stage }: { stage: StageView }) {
  const scope = { stageId: stage.id };
  return <BudgetRow budget={useBudget(scope)} change={() => openBudgets(scope)} />;
}

/** The stage's facts, and everything needed to find it outside of Callboard. */
export function StageDetails({ stage, RowsSlot }: { stage: StageView; RowsSlot: ComponentType<{ stage: StageView }> }) {
  const { worktree, session } = stage;
  const sessionId = session?.sessionId ?? null;
  const { data: hasLimits = false } = useQuery({ ...boardQuery, select: (view) => view.limits.limits !== null });
  return (
    <section className={css.details} aria-label="Details">
      <dl>
        <Row name="Title">{stage.title}</Row>
        <Row name="Stage">{stage.id}</Row>
        <Row name="Project">{stage.projectId}</Row>
        <Row name="Group">
          <StageGroup stage={stage} />
        </Row>
        {worktree !== null && (
          <>
            <Row name="Worktree">
              <CopyLine text={worktree.path} label="path" />
              <CopyLine text={`cd ${shellQuote(worktree.path)}`} label="command that goes there" />
            </Row>
            <Row name="Branch">
              <CopyLine text={worktree.branch} label="branch" />
              <CopyLine
                text={`git diff ${worktree.base}...${shellQuote(worktree.branch)}`}
                label="command that compares"
              />
              <CopyLine text={`git merge --no-ff ${shellQuote(worktree.branch)}`} label="command that merges" />
            </Row>
            <Row name="Base commit">
              <CopyLine text={worktree.base} label="base commit" />
            </Row>
          </>
        )}
        <RowsSlot stage={stage} />
        {sessionId !== null && worktree !== null && (
          <Row name="Session ID">
            <CopyLine text={sessionId} label="session ID" />
            <CopyLine text={resumeCommand(worktree.path, sessionId)} label="command that resumes" />
          </Row>
        )}
        {session === null ? (
          <Row name="Permission mode">{modeLabel(stage.permissionMode)}</Row>
        ) : (
          <>
            <Row name="Mode and model">
              <SessionSwitches stage={stage} session={session} />
            </Row>
            <Row name="Claude Code">{session.cliVersion ?? 'Version not known'}</Row>
            <Row name="Started">{exactTime(session.startedAt)}</Row>
            <Row name="Cost">{cost(usageOf(session).costUsd)}</Row>
            <TokensRow tokens={usageOf(session).tokens} />
          </>
        )}
        <Row name="Budget">
          <BudgetOf stage={stage} />
        </Row>
        <Row name="Sandbox">
          <SandboxOf stage={stage} />
        </Row>
        {stage.completedAt === null && (
          <Row name="At the end">
            <StageFinish stage={stage} />
          </Row>
        )}
        {stage.completedAt === null && hasLimits && (
          <Row name="At a usage limit">
            <StageAtLimit stage={stage} />
          </Row>
        )}
        {stage.dependsOn.length > 0 && <Row name="Depends on">{stage.dependsOn.join(', ')}</Row>}
        {stage.issue !== null && (
          <Row name="Issue">
            <a href={stage.issue.url} target="_blank" rel="noreferrer">
              #{stage.issue.number}
            </a>
          </Row>
        )}
        {stage.adopted !== null && (
          <Row name="Continues">
            <CopyLine text={stage.adopted.conversationId} label="ID of the conversation" /> from {stage.adopted.folder}
          </Row>
        )}
        {stage.fork !== null && (
          <Row name="Forked from">
            <Link to={`/stages/${stage.fork.stageId}`}>{stage.fork.title}</Link> ({stage.fork.stageId})
          </Row>
        )}
        {stage.source !== null && <Row name="Imported from">{stage.source}</Row>}
        {session !== null && (
          <Row name="Receipt">
            <StageReceipt stage={stage} />
          </Row>
        )}
        <Row name="Prompt">
          <span className={css.prompt}>{stage.prompt}</span>
          <PromptFiles stage={stage} />
        </Row>
      </dl>
    </section>
  );
}

type Tokens = NonNullable<NonNullable<StageView['session']>['tokens']>;

const formatTokens = ({ input, output, cacheRead, cacheCreation }: Tokens) =>
  `${input.toLocaleString()} in, ${output.toLocaleString()} out, ${cacheRead.toLocaleString()} read from cache, ${cacheCreation.toLocaleString()} written to it`;

function TokensRow({ tokens }: { tokens: Tokens | null }) {
  return tokens === null ? null : <Row name="Tokens">{formatTokens(tokens)}</Row>;
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
