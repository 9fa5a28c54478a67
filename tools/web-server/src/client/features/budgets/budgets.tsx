import {
  type BoardView,
  type Budget,
  type CommandInput,
  type StageView,
  scopeKey,
  scopeText,
  spentText,
} from '@callboard/contract';
import { Button, Flex, Group, NumberInput, Stack } from '@mantine/core';
import { IconCoin } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { budgetName, useBudgetAtStage } from '../../data/budget-data.ts';
import { budgetsDialog } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { useContinueBeyond } from '../../data/session-commands.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { BudgetMeter } from '../../ui/budget-meter.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Banner, Hint } from '../../ui/primitives.tsx';

/** How much stages may spend, and what they have spent. */
export default function BudgetsDialog() {
  const scope = budgetsDialog.useLastSubject() ?? null;
  const { data: view } = useQuery(boardQuery);
  const scopes = view === undefined ? [] : scope === null ? scopesOf(view) : [scope];
  return (
    <Dialog
      opened={budgetsDialog.useIsOpen()}
      close={budgetsDialog.close}
      title={scope === null ? 'Budgets' : 'Budget'}
      size={560}
    >
      <Stack gap="md" pb="md">
        {view !== undefined && scopes.map((one) => <BudgetForm key={scopeKey(one)} scope={one} view={view} />)}
        <Hint>
          At 80 % you are warned. At 100 % running turns are interrupted, nothing starts automatically, and messages
          wait; a stage then needs you. Tokens are counted with each model call; cost is updated about every ten seconds
          and is exact at the end of a turn, so a turn can go slightly over. Tokens read from the cache do not count.
          Days follow the server’s time zone.
        </Hint>
      </Stack>
    </Dialog>
  );
}

const scopesOf = ({ projects, budgets }: BoardView): Budget['scope'][] => [
  { day: true },
  {},
  ...projects.map(({ id }) => ({ projectId: id })),
  ...budgets.flatMap(({ scope }) => ('stageId' in scope ? [scope] : [])),
];

type Field = number | string;
const limitOf = (field: Field): number | null => (typeof field === 'number' && field > 0 ? field : null);

function BudgetForm({ scope, view }: { scope: Budget['scope']; view: BoardView }) {
  const budget = view.budgets.find((one) => scopeKey(one.scope) === scopeKey(scope));
  const [usd, setUsd] = useState<Field>(budget?.usd ?? '');
  const [tokens, setTokens] = useState<Field>(budget?.tokens ?? '');
  const put = usePutBudget();
  const canCommand = useCanCommand();
  const wanted = { usd: limitOf(usd), tokens: limitOf(tokens) };
  const isChanged = wanted.usd !== (budget?.usd ?? null) || wanted.tokens !== (budget?.tokens ?? null);
  const name = budgetName(scope, view);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    put.mutate({ scope, ...wanted });
  };
  const remove = () => {
    setUsd('');
    setTokens('');
    put.mutate({ scope });
  };
  return (
    <Flex component="form" direction="column" gap="sm" onSubmit={submit} aria-label={name} noValidate>
      <h3>{name}</h3>
      {budget === undefined ? <Hint>No limit.</Hint> : <BudgetMeter budget={budget} />}
      <Group align="flex-end" grow>
        <NumberInput
          label="Money"
          placeholder="$, no limit"
          prefix="$"
          min={0}
          decimalScale={2}
          hideControls
          value={usd}
          onChange={setUsd}
        />
        <NumberInput
          label="Tokens"
          placeholder="No limit"
          thousandSeparator=","
          allowDecimal={false}
          min={0}
          hideControls
          value={tokens}
          onChange={setTokens}
        />
        <Button type="submit" disabled={!canCommand || !isChanged} loading={put.isPending}>
          Save
        </Button>
        {budget !== undefined && (
          <Button variant="default" disabled={!canCommand || put.isPending} onClick={remove}>
            Remove
          </Button>
        )}
      </Group>
      {put.isError && <ErrorNote lead="The budget was not changed." error={put.error} />}
    </Flex>
  );
}

/** Sets, changes or removes a budget. The form shows what was refused. */
const usePutBudget = () =>
  useCommand({ run: (body: CommandInput<'put_budget'>) => client.command('put_budget', body) });

/** A spent budget keeps the stage from its work: which one, and how it goes on. Nothing for any other stage. */
export function BudgetBanner({ stage }: { stage: StageView }) {
  const beyond = useContinueBeyond(stage.title);
  const canCommand = useCanCommand();
  const budget = useBudgetAtStage(stage);
  if (budget === null) return null;
  const isNew = stage.session === null;
  return (
    <Banner icon={<IconCoin size={20} aria-hidden />} aria-labelledby="budget-spent">
      <h2 id="budget-spent">Budget spent: {spentText(budget)}</h2>
      <p>
        This is the budget {scopeText(budget.scope)}. {isNew ? 'The stage does not start' : 'Messages wait'} until it is
        raised. If {isNew ? 'started' : 'continued'} once, the stage works until its next turn ends.
      </p>
      <Group>
        <Button disabled={!canCommand} onClick={() => budgetsDialog.open(budget.scope)}>
          Raise the budget
        </Button>
        <Button
          variant="default"
          disabled={!canCommand}
          loading={beyond.isPending}
          onClick={() => beyond.mutate(stage.id)}
        >
          {isNew ? 'Start once' : 'Continue once'}
        </Button>
      </Group>
    </Banner>
  );
}
