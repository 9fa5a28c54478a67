import type { CommandInput, LimitSettings, LimitWait, LimitWindow, StageView, UsageLimits } from '@callboard/contract';
import { Button, Checkbox, Flex, Group, NativeSelect, Stack } from '@mantine/core';
import { IconHourglass } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { limitsDialog } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { useResume } from '../../data/session-commands.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { exactTime } from '../../lib/format.ts';
import { useNow } from '../../lib/hooks.ts';
import { comingTime, formatShare, isAhead, limitWaitText, windowLabel } from '../../lib/limit-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Banner, Hint, Meter } from '../../ui/primitives.tsx';
import { TimeSince } from '../../ui/text.tsx';

/** The usage limits of the Claude account, with their times of reset, and what Callboard does at one. */
export default function LimitsDialog() {
  const { data } = useQuery({ ...boardQuery, select: (view) => view.limits });
  return (
    <Dialog
      opened={limitsDialog.useIsOpen()}
      close={limitsDialog.close}
      title="Usage limits"
      size={520}
      closeOnClickOutside
    >
      {data !== undefined && (
        <Stack gap="md" pb="md">
          {data.limits === null ? (
            <Hint>No session has reported a limit. An API key has none.</Hint>
          ) : (
            <Windows limits={data.limits} />
          )}
          <AtLimit settings={data.settings} />
        </Stack>
      )}
    </Dialog>
  );
}

function Windows({ limits }: { limits: UsageLimits }) {
  const now = new Date(useNow());
  const windows = limits.windows.filter(({ resetsAt }) => resetsAt === null || Date.parse(resetsAt) > now.getTime());
  return (
    <>
      <Flex component="ul" direction="column" gap="md" aria-label="Usage limits of the account">
        {windows.map((window) => (
          <Window key={window.name} window={window} now={now} />
        ))}
      </Flex>
      <Hint>
        {windows.length === 0 && 'All limits that were known have reset. '}As Claude Code last reported{' '}
        <TimeSince at={limits.at} ago />
        {limits.isUsingOverage && '. Usage beyond the limit is billed to the account'}.
      </Hint>
    </>
  );
}

function Window({ window, now }: { window: LimitWindow; now: Date }) {
  const { name, utilization, status, resetsAt } = window;
  const share = utilization === null ? (status === 'reached' ? 'reached' : '') : formatShare(utilization);
  return (
    <li>
      <Group justify="space-between">
        <span>{windowLabel(name)}</span>
        <span className="figures">{share}</span>
      </Group>
      {utilization !== null && <Meter share={utilization} />}
      {resetsAt !== null && <Hint title={exactTime(resetsAt)}>Resets {comingTime(resetsAt, now)}</Hint>}
    </li>
  );
}

/** From which used shares on starts can be held. */
const SHARES = [0.8, 0.9, 0.95];
const NEVER = 'never';

function AtLimit({ settings }: { settings: LimitSettings }) {
  const update = useUpdateLimits();
  const canCommand = useCanCommand();
  const { goesOnAtReset, holdStartsAt } = { ...settings, ...(update.isPending && update.variables) };
  const shares = [...new Set([...SHARES, ...(holdStartsAt === null ? [] : [holdStartsAt])])].toSorted((a, b) => a - b);
  return (
    <Stack gap="md">
      <Checkbox
        label="Continue automatically"
        description="Stages that stopped at a limit continue once it has reset. A stage can say otherwise in its details."
        checked={goesOnAtReset}
        disabled={!canCommand || update.isPending}
        onChange={({ currentTarget: { checked } }) => update.mutate({ goesOnAtReset: checked })}
      />
      <NativeSelect
        label="Hold automatic starts"
        description="What has begun can then finish. A stage that you start yourself is not held."
        data={[
          ...shares.map((share) => ({ value: String(share), label: `At ${formatShare(share)} of a limit or more` })),
          { value: NEVER, label: 'Only while a limit is reached' },
        ]}
        value={holdStartsAt === null ? NEVER : String(holdStartsAt)}
        disabled={!canCommand || update.isPending}
        onChange={({ currentTarget: { value } }) =>
          update.mutate({ holdStartsAt: value === NEVER ? null : Number(value) })
        }
      />
    </Stack>
  );
}

/** Changes what happens at a usage limit. */
const useUpdateLimits = () =>
  useCommand({
    run: (patch: CommandInput<'update_limits'>) => client.command('update_limits', patch),
    failed: 'What happens at a usage limit was not changed',
  });

/** The stage stopped at a usage limit: when it goes on, and how to decide otherwise. Nothing for any other stage. */
export function LimitBanner({ stage }: { stage: StageView }) {
  const resume = useResume(stage.title);
  const canCommand = useCanCommand();
  const wait = stage.session?.limitWait ?? null;
  const text = limitWaitText(stage);
  if (wait === null || text === null || stage.session?.alarm != null || stage.session?.terminal != null) return null;
  const button = (when: 'now' | 'at-reset' | 'never', label: string) => (
    <Button
      variant={when === 'now' && wait.goesOnAt === null ? 'filled' : 'default'}
      disabled={!canCommand || resume.isPending}
      loading={resume.isPending && resume.variables.when === when}
      onClick={() => resume.mutate({ stageId: stage.id, when })}
    >
      {label}
    </Button>
  );
  return (
    <Banner isCalm icon={<IconHourglass size={20} aria-hidden />} aria-labelledby="usage-limit">
      <h2 id="usage-limit">{text}</h2>
      <p>{bannerText(wait)}</p>
      <Group>
        {button('now', 'Try now')}
        {wait.goesOnAt !== null && button('never', 'Do not continue')}
        {wait.goesOnAt === null && wait.resetsAt !== null && button('at-reset', resetLabel(wait.resetsAt))}
      </Group>
    </Banner>
  );
}

const resetLabel = (resetsAt: string) =>
  isAhead(resetsAt) ? `Continue automatically at ${comingTime(resetsAt)}` : 'Continue automatically';

function bannerText({ window, resetsAt, goesOnAt }: LimitWait): string {
  const name = windowLabel(window).toLowerCase();
  const reached = `The account’s ${name === 'usage limit' ? 'usage limit' : name} was reached.`;
  if (goesOnAt !== null)
    return `${reached} Nothing is lost: Callboard will tell Claude to continue then, even after a restart.`;
  if (resetsAt === null) return `${reached} Claude Code did not say when it resets. Your message is kept.`;
  return `${reached} Your message is kept. The stage waits for you.`;
}
