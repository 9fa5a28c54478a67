import type { DecisionFilter } from '@callboard/contract';
import { routes } from '@callboard/contract/client';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { saveFile } from '../../../lib/save-file.ts';

interface ExportProps {
  filter: DecisionFilter;
  format: 'csv' | 'jsonl';
  children: ReactNode;
}

/** Fetches the decision log with the page's own request and lets the browser save it as a file. */
export function ExportButton({ filter, format, children }: ExportProps) {
  const save = useCommand({
    run: () => client.file(routes.get_decisions, { ...filter, format }),
    failed: 'The file was not made',
    done: (content) => saveFile(content, `decisions.${format}`),
  });
  return (
    <Button variant="default" size="compact-sm" loading={save.isPending} onClick={() => save.mutate(undefined)}>
      {children}
    </Button>
  );
}
