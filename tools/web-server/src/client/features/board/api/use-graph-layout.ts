import { type RefObject, useEffect, useState } from 'react';
import type { GraphLayout } from '../model/graph-layout.ts';
import type { StageGraph } from '../model/stage-graph.ts';

/**
 * Lays out the graph in a worker, for the shape of the box that it is shown in. Until a changed graph is laid out, the layout
 * of the one before it stays.
 *
 * @param graph the same object as long as nothing in it has changed
 * @returns null before the first layout
 */
export function useGraphLayout(graph: StageGraph, box: RefObject<HTMLElement | null>): GraphLayout | null {
  const [layout, setLayout] = useState<GraphLayout | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  useEffect(() => {
    const worker = new Worker(new URL('./graph-worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<GraphLayout>) => setLayout(data));
    worker.addEventListener('error', ({ message }) => setFailure(new Error(message || 'its worker did not start')));
    const { clientWidth = 0, clientHeight = 0 } = box.current ?? {};
    worker.postMessage({ graph, aspect: clientWidth / clientHeight || 1 });
    return () => worker.terminate();
  }, [graph, box]);
  // The boundary around the graph says so.
  if (failure !== null) throw failure;
  return layout;
}
