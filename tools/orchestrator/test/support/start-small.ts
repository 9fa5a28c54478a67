import { useSpawner } from '../../src/lib/processes/processes.ts';

/**
 * Makes a small process start all others of this worker: to start one, the system copies the page tables of the process that
 * does it, and a worker of the tests is large (decisions 061 and 133). One serves all files, since each start of it costs 0.1 s.
 */
useSpawner();
