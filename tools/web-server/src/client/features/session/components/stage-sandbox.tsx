import type { StageView } from '@callboard/contract';
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { useSetSandbox } from '../../../data/stage-commands.ts';
import {
  isolationText,
  ranWithoutAsking,
  sandboxOf,
  sandboxOptions,
  sandboxValue,
} from '../../../lib/isolation-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import css from './stage-head.module.css';

/** The session's isolation and its reason, and the stage's own sandbox switch. */
export function SandboxOf({ stage }: { stage: StageView }) {
  const { data: ofProject = null } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === stage.projectId)?.settings.sandbox,
  });
  const set = useSetSandbox(stage.title);
  const canCommand = useCanCommand();
  const chosen = set.isPending ? set.variables.sandbox : stage.sandbox;
  return (
    <div className={css.sandbox}>
      {stage.session !== null && <Isolation session={stage.session} />}
      <NativeSelect
        size="xs"
        aria-label="Sandbox of this stage"
        data={sandboxOptions(ofProject)}
        value={sandboxValue(chosen)}
        disabled={!canCommand || set.isPending}
        onChange={(event) => set.mutate({ stageId: stage.id, sandbox: sandboxOf(event.currentTarget.value) })}
      />
      <p className={css.phaseState}>
        In the sandbox, commands cannot approve their own requests, and ask before they use the network. Turn it off for
        work that needs a database or Docker on this machine. Takes effect at the next start.
      </p>
    </div>
  );
}

function Isolation({ session: { isolation, sandboxAllowed } }: { session: NonNullable<StageView['session']> }) {
  const { label, why, means, next } = isolationText(isolation);
  const ran = ranWithoutAsking(sandboxAllowed);
  return (
    <>
      <p>
        <strong>{label}.</strong> <Seen text={why} kind="prose" /> {means} {next}
      </p>
      {ran !== '' && <p>{ran}, because they ran in the sandbox.</p>}
    </>
  );
}
