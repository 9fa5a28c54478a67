import { Effort, PermissionMode, type StageView } from '@callboard/contract';
import { Loader, NativeSelect } from '@mantine/core';
import { MODE_OPTIONS } from '../../../lib/modes.ts';
import { useCapabilities } from '../../../live/capabilities.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { useSetMode, useSetModel } from '../api/use-interrupt.ts';
import { effortOptions, modelOptions } from '../model/model-options.ts';
import css from './stage-head.module.css';

type Session = NonNullable<StageView['session']>;

/** Mode, model and effort of a session that runs; each shows what was asked for until Claude has confirmed it. */
export function SessionSwitches({ stage, session }: { stage: StageView; session: Session }) {
  const setMode = useSetMode(stage.id, stage.title);
  const setModel = useSetModel(stage.id, stage.title);
  const lives = session.state === 'idle' || session.state === 'busy' || session.state === 'waiting';
  const canCommand = useCanCommand();
  const isBusy = setMode.isPending || setModel.isPending;
  const shared = {
    size: 'xs' as const,
    disabled: !lives || !canCommand || isBusy,
    title: lives ? undefined : 'Can be changed while the session runs',
  };
  const mode = setMode.isPending ? setMode.variables : session.mode;
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
            <Loader size={12} color="gray" aria-hidden /> Waiting for Claude to confirm
          </>
        )}
      </span>
      <NativeSelect
        {...shared}
        aria-label="Permission mode"
        data={
          MODE_OPTIONS.some((option) => option.value === mode)
            ? MODE_OPTIONS
            : [{ value: mode, label: mode }, ...MODE_OPTIONS]
        }
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
