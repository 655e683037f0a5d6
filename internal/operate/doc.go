// Package operate has nothing of its own: below it is what the operator of a relay sees and does: pages, figures, logs, moderation,
// backups, and looking at a relay from outside.
//
// Read admin first for what is shown, moderation for what may be decided, and backup for what is saved.
//
// What is here never changes an event or a ref but by the door, as everybody, and strangers never see it without a key that the operator named.
//
// The packages:
//
//   - admin: how this relay stands, for its operator
//   - against: what this relay has beside what another one has: what is only there, only here, and why
//   - backup: one tar of a data directory, which tells whether it is complete; backups that a running relay makes by itself
//   - conffile: configuration files: keys, values and lines
//   - doctor: a relay as its users see it, and what to mend
//   - logs: log lines for people and machines, no sort of them too often
//   - metrics: figures for Prometheus, read from the parts whenever Prometheus asks
//   - moderation: what an operator decides about what is here: subjects, what goes with them, cases and their journal
//   - moderation/moderator: keeping decisions of the operator, carrying them out, and taking them back
//   - moderation/reports: what people report of what is here, until the operator has decided
//   - nip86: management of this relay over its public address, by keys that the operator names, and the settings changed by it
//   - progress: how far a piece of work has come, drawn again in place on a terminal
//   - signin: the operator's page through the public listener, for who has signed in
//   - statustext: how a relay stands, as text at a terminal
//   - systemd: telling the service manager that clients are served, and that the process ends
package operate
