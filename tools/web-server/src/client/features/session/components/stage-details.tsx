import { PermissionMode, type StageView } from '@callboard/contract';
import { NativeSelect } from '@mantine/core';
import type { ReactNode } from 'react';
import { MODE_OPTIONS, modeWords } from '../../../lib/modes.ts';
import { shellQuote } from '../../../lib/paths.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import { useSetMode } from '../api/use-interrupt.ts';
import css from './stage-head.module.css';

/** Everything by which a stage can be found outside of Callboard. */
export function StageDetails({ stage }: { stage: StageView }) {
  const { worktree, session } = stage;
  const sessionId = session?.sessionId ?? null;
  return (
    <section className={css.details} aria-label="Details">
      <dl>
        <Row name="Stage">{stage.id}</Row>
        {worktree !== null && (
          <>
            <Row name="Worktree">
              <CopyLine text={worktree.path} label="path" />
              <CopyLine text={`cd ${shellQuote(worktree.path)}`} />
            </Row>
            <Row name="Branch">
              <CopyLine text={worktree.branch} label="branch" />
              <CopyLine text={`git diff ${worktree.base}...${shellQuote(worktree.branch)}`} />
            </Row>
          </>
        )}
        {sessionId !== null && worktree !== null && (
          <Row name="Session">
            <CopyLine text={sessionId} label="session id" />
            <CopyLine text={`cd ${shellQuote(worktree.path)} && claude --resume ${shellQuote(sessionId)}`} />
          </Row>
        )}
        {session !== null && <Row name="Model">{session.model ?? 'not known yet'}</Row>}
        <Row name="Permission mode">
          {session === null ? modeWords(stage.permissionMode) : <ModeSelect stage={stage} />}
        </Row>
        {stage.dependsOn.length > 0 && <Row name="Depends on">{stage.dependsOn.join(', ')}</Row>}
        <Row name="Prompt">
          <span className={css.prompt}>{stage.prompt}</span>
        </Row>
      </dl>
    </section>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function ModeSelect({ stage }: { stage: StageView }) {
  const setMode = useSetMode(stage.title);
  const mode = stage.session?.mode ?? stage.permissionMode;
  const lives = stage.session !== null && stage.session.state !== 'ended' && stage.session.state !== 'failed';
  const canCommand = useCanCommand();
  const isKnown = MODE_OPTIONS.some((option) => option.value === mode);
  return (
    <NativeSelect
      aria-label="Permission mode"
      maw={320}
      data={isKnown ? MODE_OPTIONS : [{ value: mode, label: mode }, ...MODE_OPTIONS]}
      value={setMode.isPending ? setMode.variables.mode : mode}
      disabled={!lives || !canCommand || setMode.isPending}
      description={lives ? undefined : 'Can be changed while the session runs.'}
      onChange={(event) => setMode.mutate({ stageId: stage.id, mode: PermissionMode.parse(event.currentTarget.value) })}
    />
  );
}
