// Package git has nothing of its own: below it are the repositories. Signed events are the database of refs; git data on disk follows
// them. Clients fetch and push over HTTP, what is lacking is fetched from other servers, and people read pages.
//
// Read hosting first, which joins the log and the disk. Then gitrepo for the disk, githttp for clients, gitplan and gitsync for what is lacking.
//
// What is here never moves a ref that nobody signed for, and never starts a process but through gitproc.
//
// The packages:
//
//   - depot: packs of repositories in an object store, of which a disk has copies
//   - gitcheck: proving the git data of a stopped relay against the log, and mending it
//   - gitfetch: the client side of git's smart HTTP, towards strangers' servers: refs, and packs of what is named
//   - githttp: repositories for git over HTTP: refs, packs that are shared, and pushes up to the decision
//   - gitplan: which git server to ask for what is missing here, and when: what has happened in, effects out
//   - gitproc: the one place where a relay starts processes: git, what it is told and what it may take
//   - gitread: what pages read of a repository: commits, directories, files and differences, kept by the ids of objects
//   - gitrepo: the one place with repositories' directories: quarantines, packs, files of refs
//   - gitrepo/gitfake: repositories in memory, for tests of what stands above them
//   - gitrepo/repotest: real repositories on a disk, made by git fast-import, for tests of what reads them
//   - gitsync: finding which git data is missing here, and fetching it from the servers that events name
//   - hosting: serving repositories and taking pushes: joins the log's writer and the disk, and does what follows commits
//   - repopage: the pages of a repository, for people: itself, its issues, patches and pull requests, and their feeds
package git
