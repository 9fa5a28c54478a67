/** The entry point of the orchestrator's process: the core, with what it may load. */

import { runOrchestrator } from '@callboard/orchestrator/main';

runOrchestrator({ loadSharedStores: async () => (await import('@callboard/store-postgres')).postgres });
