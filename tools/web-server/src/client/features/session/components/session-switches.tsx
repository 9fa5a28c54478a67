import { Effort, hasEnded, PermissionMode, type StageView } from '@callboard/contract';
import { Loader, NativeSelect } from '@mantine/core';
import { useCapabilities } from '../../../data/queries.ts';
import { effortOptions, modelOptions } from '../../../lib/model-options.ts';
import { modeOptionsOf } from '../../../lib/permission-modes.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useSetMode, useSetModel } from '../api/session-commands.ts';
import css from './stage-head.module.css';

type Session = NonNullable<StageView['session']>;

/** Mode, model and effort. Each shows the requested value until Claude, or after the end the server, confirms it. */
export function SessionSwitches({ stage, session }: { stage: StageView; session: Session }) {
  const setMode = useSetMode(stage.id, stage.title);
  const setModel = useSetModel(stage.id, stage.title);
  const isOver = hasEnded(session.state);
  const canCommand = useCanCommand();
  const isBusy = setMode.isPending || setModel.isPending;
  const shared = {
    size: 'xs' as const,
    disabled: session.state === 'starting' || !canCommand || isBusy || stage.completedAt !== null,
    title: isOver ? 'Applies from the next start' : undefined,
  };
  const mode = setMode.isPending ? setMode.variables : session.mode;
  const modes = modeOptionsOf(!isOver, mode, stage.permissionMode);
  const asked = setModel.isPending ? setModel.variables : {};
  const model = asked.model === undefined ? session.model : asked.model;
  const effort = asked.effort ?? session.effort;
  const capabilities = useCapabilities({ stageId: stage.id });
  const models = modelOptions(capabilities, model);
  return (
    <div className={css.switches} aria-busy={isBusy}>
      <span role="status" className={css.confirming}>
        {isBusy && (
          <>
            <Loader size={12} color="gray" aria-hidden /> {isOver ? 'Saving' : 'Waiting for Claude to confirm'}
          </>
        )}
        {!isBusy && isOver && stage.completedAt === null && 'From the next start'}
      </span>
      <NativeSelect
        {...shared}
        aria-label="Permission mode"
        data={modes.some(({ value }) => value === mode) ? modes : [{ value: mode, label: mode }, ...modes]}
        value={mode}
        onChange={(event) => setMode.mutate(PermissionMode.parse(event.currentTarget.value))}
      />
      <NativeSelect
        {...shared}
        aria-label="Model"
        data={models.options}
        value={models.value}
        onChange={(event) => setModel.mutate({ model: event.currentTarget.value || null })}
      />
      <NativeSelect
        {...shared}
        aria-label="Effort"
        data={effortOptions(capabilities, model, effort)}
        value={effort ?? ''}
        onChange={(event) => {
          const chosen = Effort.safeParse(event.currentTarget.value);
          if (chosen.success) setModel.mutate({ effort: chosen.data });
        }}
      />
    </div>
  );
}
