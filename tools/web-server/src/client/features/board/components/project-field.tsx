import type { ProjectId } from '@callboard/contract';
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import css from './forms.module.css';

interface ProjectFieldProps {
  /** Null: the first one. */
  wanted: ProjectId | null;
  children: (projectId: ProjectId) => ReactNode;
}

/** A form about one project. With several on the board, it can be chosen. */
export function ProjectField({ wanted, children }: ProjectFieldProps) {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const [picked, pick] = useState(wanted);
  const project = projects.find(({ id }) => id === picked) ?? projects[0];
  if (project === undefined) return <p className={css.about}>Add a project first.</p>;
  return (
    <div className={css.form}>
      {projects.length > 1 && (
        <Select
          label="Project"
          data={projects.map(({ id, name }) => ({ value: id, label: name }))}
          value={project.id}
          onChange={(id) => pick(projects.find((one) => one.id === id)?.id ?? null)}
          allowDeselect={false}
        />
      )}
      {children(project.id)}
    </div>
  );
}
