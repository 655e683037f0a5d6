// Package gitread reads what pages show of a repository: commits, directories, files and differences, by git's plumbing. What it has read it
// keeps by the ids of objects, which never change, within a bound. Nothing that a stranger writes becomes an argument of git: an id, and the
// beginning of one, is parsed before, and a path is followed from directory to directory in the objects themselves.
//
// Who reads something makes a [Visit], which says in which repository, for whom, and who pays. All methods of [Reader] take one, pay before they
// start a process of git and for the time that this works, and end within ten seconds. They fail with
//
//   - [ErrNothing] where there is no such object, or no such path,
//   - [ErrCostly] where git would take too much time, memory or text; what failed so fails at once for ten minutes,
//   - [gitproc.ErrBusy] where too many wait for git, or it was not done in time,
//   - the cause of ctx.
//
// The methods:
//
//   - [Reader.Open]: what stands at a path of a commit: a directory with its entries, a file with its first bytes, a link or a submodule
//   - [Reader.Commit]: one commit
//   - [Reader.Commits]: the newest commits that lead from one and not from others: those of a branch, or of a pull request behind its merge base
//   - [Reader.History]: one page of the commits of a branch, and the commit with which the next page begins
//   - [Reader.Led]: whether refs lead to a commit. The other methods read whatever is in the repository, also what was taken back
//   - [Reader.Named]: the commits whose ids begin with some digits
//   - [Reader.Touched]: the last commit that changed each entry of a directory, among the newest
//   - [Reader.Diff]: how two commits differ, by file
//   - [Reader.MergeBase]: the best common ancestor of two commits
//   - [Reader.Merge]: whether two commits merge cleanly, and which paths are in conflict
//
// All results are shared: nobody changes them. Texts are as they stand in git, so they may be no UTF-8 and have any character but a NUL; templates
// escape them.
package gitread
