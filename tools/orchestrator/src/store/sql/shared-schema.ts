/** The columns of the tables about the machines that share the store. */
export interface SharedSchema {
  machines: {
    id: string;
    epoch: number;
    /** A `MachineState`. */
    state: string;
    since: string;
    /** Milliseconds of the store's clock. */
    lease_until: number;
    seen_at: string;
    /** A `MachineReport`, whole. */
    report: string;
    /** When it was taken off the list; null while it is on it. */
    removed_at: string | null;
    /** When it was declared lost; null once it has come back, and has kept the work of its former stages. */
    lost_at: string | null;
  };
  project_places: { project_id: string; machine_id: string; path: string; remote: string | null };
  machine_commands: {
    id: string;
    machine_id: string;
    /** A `StoredCommand`, whole. */
    document: string;
    /** Milliseconds of the store's clock. */
    deadline: number;
    /** 0, or 1 once somebody has taken it. */
    taken: number;
    /** JSON; null until it is answered. */
    reply: string | null;
  };
}

export const sharedStatements = [
  `create table machines (
     id text primary key, epoch integer not null, state text not null, since text not null, lease_until bigint not null,
     seen_at text not null, report text not null)`,
  `create table project_places (
     project_id text not null references projects(id) on delete cascade,
     machine_id text not null references machines(id) on delete cascade, path text not null, remote text,
     primary key (project_id, machine_id))`,
  `create table machine_commands (
     id text primary key, machine_id text not null references machines(id) on delete cascade, document text not null,
     deadline bigint not null, taken integer not null, reply text)`,
  `create index machine_commands_waiting on machine_commands(machine_id) where taken = 0`,
  `alter table stages add column machine_id text`,
  `create index stages_by_machine on stages(machine_id)`,
];
