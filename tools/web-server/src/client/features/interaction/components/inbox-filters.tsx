import type { BoardView } from '@callboard/contract';
import { Button, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { type Filtered, type InboxFilter, inboxAddress, inboxChoices, isInboxFiltered } from '../model/inbox-filter.ts';
import picking from './inbox-picking.module.css';

const LABELS = { project: 'All projects', kind: 'All kinds', risk: 'All risks' } as const;
const PARTS = ['project', 'kind', 'risk'] as const;
const NAMES = { project: 'Project', kind: 'Kind', risk: 'Risk' } as const;
const projectsOf = ({ projects }: BoardView) => projects.map(({ id, name }) => ({ id: String(id), name }));

interface InboxFiltersProps {
  filter: InboxFilter;
  /** All rows, shown or not. */
  rows: readonly Filtered[];
  shown: number;
}

/** Which rows are shown, by project, kind and risk; and how many are not. Draws nothing where there is nothing to choose. */
export function InboxFilters({ filter, rows, shown }: InboxFiltersProps) {
  const navigate = useNavigate();
  const { data: projects = [] } = useQuery({ ...boardQuery, select: projectsOf });
  const choose = (change: Partial<InboxFilter>) =>
    void navigate(inboxAddress({ ...filter, ...change }), { replace: true });
  const isFiltered = isInboxFiltered(filter);
  if (rows.length < 2 && !isFiltered) return null;
  return (
    <search className={picking.filters} aria-label="Filter the inbox">
      {PARTS.map((part) => {
        const choices = inboxChoices(part, { rows, filter, projects });
        if (choices.length < 2 && filter[part] === '') return null;
        const data = choices.map(({ value, label, count }) => ({ value, label: `${label} (${count})` }));
        return (
          <NativeSelect
            key={part}
            size="xs"
            aria-label={NAMES[part]}
            data={[{ value: '', label: LABELS[part] }, ...data]}
            value={filter[part]}
            onChange={(event) => choose({ [part]: event.currentTarget.value })}
          />
        );
      })}
      {isFiltered && (
        <div className={picking.shown}>
          <span role="status">
            {shown} of {rows.length} shown
          </span>
          <Button variant="subtle" size="compact-sm" onClick={() => choose({ project: '', kind: '', risk: '' })}>
            Show all
          </Button>
        </div>
      )}
    </search>
  );
}
