package admin

// RepositoryStates are all states that a repository may have.
func RepositoryStates() []string { return repositoryStates }
