// Package grasp knows the rules of the GRASP services: which relay URLs are the same relay, whether an announcement lists
// this service, and who decides for a repository. Everything in it is a pure function of what was announced; it resolves
// no name and opens no connection.
package grasp
