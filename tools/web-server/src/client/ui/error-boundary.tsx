import { serviceRoutes } from '@callboard/contract/client';
import { Button, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Component, type ComponentType, type ErrorInfo, lazy, type ReactNode, Suspense, useState } from 'react';
import { client } from '../lib/api-client.ts';
import { FailureNote } from './notes.tsx';

/** A lazy component could not be loaded: no answer, or Callboard was updated and the file has another name now. */
class ChunkLoadError extends Error {
  /** Has the component loaded again when it is shown the next time. */
  readonly renew: () => void;

  constructor(cause: unknown, renew: () => void) {
    super('Part of the page could not be loaded.', { cause });
    this.name = 'ChunkLoadError';
    this.renew = renew;
  }
}

/**
 * A component that is loaded when it is first shown. If that fails, the `ErrorBoundary` around it says so, and showing it again
 * loads it again. A browser may remember a failed import; reloading the page helps there.
 */
export function lazyComponent<P extends object>(load: () => Promise<{ default: ComponentType<P> }>) {
  const begin = () => {
    const own = lazy(() =>
      load().catch((error: unknown) => {
        throw new ChunkLoadError(error, () => {
          if (Loaded === own) Loaded = begin(); // once, however many boundaries it fails in
        });
      }),
    );
    return own;
  };
  let Loaded = begin();
  return (props: P) => <Loaded {...props} />;
}

interface ErrorBoundaryProps {
  /** What it contains, as the start of a sentence. */
  name: string;
  /** Shown while loading. */
  fallback?: ReactNode;
  /** What is shown in it; null: nothing, it is closed. Showing something else clears an earlier failure. */
  resetKey?: string | null;
  /** For content that opens over the page and has no place of its own in it: closes it again. */
  close?: () => void;
  children: ReactNode;
}

interface ErrorBoundaryState {
  failure: unknown;
  resetKey: ErrorBoundaryProps['resetKey'];
}

/** A part of the screen that is loaded lazily or may fail. It shows its failure in place; the rest stays as it is. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { failure: null, resetKey: this.props.resetKey };

  static getDerivedStateFromProps(
    { resetKey }: ErrorBoundaryProps,
    state: ErrorBoundaryState,
  ): Partial<ErrorBoundaryState> | null {
    if (resetKey === state.resetKey) return null;
    return resetKey === null ? { resetKey } : { resetKey, failure: null };
  }

  static getDerivedStateFromError(failure: unknown): Partial<ErrorBoundaryState> {
    return { failure };
  }

  override componentDidCatch(failure: unknown, { componentStack }: ErrorInfo) {
    // Not as soon as it fails: React would show it again, and load it for ever.
    if (failure instanceof ChunkLoadError) failure.renew();
    else console.error(failure, componentStack);
    if (this.props.close === undefined) return;
    this.props.close();
    notifications.show({
      id: this.props.name,
      color: 'red',
      title: `${this.props.name} ${why(failure)}`,
      message: 'Try again, or reload the page.',
    });
  }

  override render() {
    const { name, fallback = null, close, children } = this.props;
    const { failure } = this.state;
    if (failure === null) return <Suspense fallback={fallback}>{children}</Suspense>;
    return close === undefined ? <Failed name={name} failure={failure} /> : null;
  }
}

function why(failure: unknown): string {
  if (failure instanceof ChunkLoadError)
    return 'could not be loaded: the connection was lost, or Callboard was updated in the meantime.';
  return `cannot be shown: ${failure instanceof Error ? failure.message : String(failure)}`;
}

function Failed({ name, failure }: { name: string; failure: unknown }) {
  const [attempt, setAttempt] = useState<'none' | 'running' | 'failed'>('none');
  const reload = async () => {
    setAttempt('running');
    try {
      // If nothing answered, the browser would replace the page with its own error page.
      await client.call(serviceRoutes.health, {});
      window.location.reload();
    } catch {
      setAttempt('failed');
    }
  };
  return (
    <Stack align="flex-start" maw={640} mx="auto" p="xl">
      <FailureNote>
        {name} {why(failure)}
      </FailureNote>
      <Button variant="default" loading={attempt === 'running'} onClick={() => void reload()}>
        Reload the page
      </Button>
      <div role="status">{attempt === 'failed' && 'Callboard does not answer yet. What is on screen stays.'}</div>
    </Stack>
  );
}
