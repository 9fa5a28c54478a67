import { type Issue, type IssueList, LISTED_ISSUES, type ProjectId } from '@callboard/contract';
import { Badge, Button, Checkbox, TextInput } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Link } from 'react-router';
import { issuesQuery } from '../../../data/move-in-queries.ts';
import { count } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { FinishProblemNote } from '../../../ui/finish-problem-note.tsx';
import { Note } from '../../../ui/note.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useImportIssues } from '../api/use-move-in.ts';
import { FormEnd } from './form-end.tsx';
import css from './forms.module.css';
import own from './move-in.module.css';
import { ProjectField } from './project-field.tsx';

/** Chooses issues of the code host, and makes a stage of each. */
export function IssuesForm({ wantedProject }: { wantedProject: ProjectId | null }) {
  return (
    <ProjectField wanted={wantedProject}>
      {(projectId) => <ChooseIssues key={projectId} projectId={projectId} />}
    </ProjectField>
  );
}

const NO_FILTER = { q: '', label: '' };

function ChooseIssues({ projectId }: { projectId: ProjectId }) {
  const [typed, type] = useState(NO_FILTER);
  const [filter, search] = useState(NO_FILTER);
  const [chosen, choose] = useState<readonly number[]>([]);
  const { data, error, isFetching, refetch } = useQuery(issuesQuery(projectId, filter));
  const take = useImportIssues(projectId, () => choose([]));
  const canCommand = useCanCommand();
  if (error !== null)
    return (
      <ErrorNote
        lead="The issues could not be read."
        error={error}
        retry={() => void refetch()}
        isRetrying={isFetching}
      />
    );
  if (data?.problem != null)
    return <FinishProblemNote problem={data.problem} isReading={isFetching} readAgain={() => void refetch()} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    search(typed);
  };
  return (
    <>
      <form className={own.search} onSubmit={submit}>
        <TextInput
          label="Search"
          placeholder="Words, or what the search of the code host takes"
          value={typed.q}
          onChange={(event) => type({ ...typed, q: event.currentTarget.value })}
          data-autofocus
        />
        <TextInput
          label="Label"
          value={typed.label}
          onChange={(event) => type({ ...typed, label: event.currentTarget.value })}
        />
        <Button type="submit" variant="default" loading={isFetching}>
          Search
        </Button>
      </form>
      {data === undefined ? (
        <div className={own.list} aria-busy role="status" aria-label="Reading issues" />
      ) : (
        <Issues data={data} chosen={chosen} choose={choose} />
      )}
      <p className={css.about}>Anybody may have written an issue. Read it before you start its stage.</p>
      {take.isSuccess && <Taken reply={take.data} />}
      {take.isError && <ErrorNote lead="Not all issues were imported." error={take.error} />}
      <FormEnd>
        <Button
          disabled={!canCommand || chosen.length === 0}
          loading={take.isPending}
          onClick={() => take.mutate(chosen)}
        >
          {chosen.length === 0 ? 'Import' : `Import ${count(chosen.length, 'issue')}`}
        </Button>
      </FormEnd>
    </>
  );
}

interface IssuesProps {
  data: IssueList;
  chosen: readonly number[];
  choose: (numbers: readonly number[]) => void;
}

function Issues({ data: { issues, repository }, chosen, choose }: IssuesProps) {
  if (issues.length === 0) return <p className={css.about}>No open issues{repository && ` in ${repository}`}.</p>;
  const toggle = (number: number) =>
    choose(chosen.includes(number) ? chosen.filter((one) => one !== number) : [...chosen, number]);
  return (
    <>
      <ul className={own.list} aria-label="Issues">
        {issues.map((issue) => (
          <li key={issue.number}>
            <IssueRow issue={issue} isChosen={chosen.includes(issue.number)} toggle={() => toggle(issue.number)} />
          </li>
        ))}
      </ul>
      {issues.length === LISTED_ISSUES && (
        <p className={css.about}>Only {LISTED_ISSUES} are listed. Search for others.</p>
      )}
    </>
  );
}

function IssueRow({ issue, isChosen, toggle }: { issue: Issue; isChosen: boolean; toggle: () => void }) {
  const { number, title, url, labels, author, updatedAt, stageId } = issue;
  return (
    <div className={own.row}>
      <Checkbox
        checked={isChosen}
        onChange={toggle}
        label={
          <>
            {title} <span className={own.number}>#{number}</span>
          </>
        }
      />
      <span className={own.facts} data-beside>
        {updatedAt !== null && <TimeSince at={updatedAt} ago />}
        {author !== null && <span>{author}</span>}
        {labels.map((label) => (
          <Badge key={label} variant="default" size="sm" tt="none" fw={500}>
            {label}
          </Badge>
        ))}
        {stageId !== null && <Link to={`/stages/${stageId}`}>{stageId}</Link>}
        <a href={url} target="_blank" rel="noreferrer" aria-label={`Issue ${number} on its page`}>
          <IconExternalLink size={14} aria-hidden />
        </a>
      </span>
    </div>
  );
}

function Taken({ reply: { created, updated, kept } }: { reply: { created: number; updated: number; kept: string[] } }) {
  return (
    <div role="status">
      <Note>
        {count(created, 'stage')} created, {updated} updated.
        {kept.length > 0 && ` ${kept.join(', ')} stay as they are: they were started, or edited here.`}
      </Note>
    </div>
  );
}
