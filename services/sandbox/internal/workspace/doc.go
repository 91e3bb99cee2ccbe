// Package workspace keeps the files of users. A workspace is a folder of its
// user, <dir>/<user>/<workspace>, that programs in a sandbox may change at the
// same time; so nothing that a path or a name says is believed:
//
//   - every folder and file of a workspace is opened through an os.Root of that
//     workspace, which the system keeps inside, whatever is swapped meanwhile;
//   - links are refused, and where one is put in after that was checked it can
//     lead only to another place of the same workspace;
//   - nothing but a regular file is read: a pipe or a device is refused without
//     waiting for it;
//   - a file is written outside the workspace, where no program sees it, and
//     moved into its place when it is whole and fits the quota. What is removed
//     is moved out first.
//
// A [Store] is the files of all users, a [Server] serves them.
package workspace
