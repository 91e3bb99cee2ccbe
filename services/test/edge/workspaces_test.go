package edge

import (
	"net/http"
	"testing"
)

// A workspace is named by its user: what somebody else calls by the same name is
// another one.
func TestAWorkspaceIsItsUsersOwn(t *testing.T) {
	h := newHouse(t)
	workspace := h.owner.ids["workspace_id"]
	path := "/api/workspaces/" + workspace + "/files/text?path=" + fileName
	code, answer := h.guest.JSON(t, http.MethodGet, path, nil)
	if code != http.StatusNotFound {
		t.Fatalf("before there is one: %d %v", code, answer)
	}
	upload(t, h.guest.Client, workspace, fileName, h.guest.secret)
	for _, p := range []person{h.owner, h.guest} {
		if text := p.Data(t, http.MethodGet, path, nil)["text"]; text != p.secret {
			t.Errorf("the file of %s reads %q", p.secret, text)
		}
	}
	h.guest.Data(t, http.MethodDelete, "/api/workspaces/"+workspace, nil)
	if text := h.owner.Data(t, http.MethodGet, path, nil)["text"]; text != h.owner.secret {
		t.Errorf("after the other was deleted the file reads %q", text)
	}
}

func TestFilesAreDeletedWithTheirConversation(t *testing.T) {
	h := newHouse(t)
	id := h.owner.ids["conversation_id"]
	upload(t, h.owner.Client, id, fileName, h.owner.secret)
	upload(t, h.guest.Client, id, fileName, h.guest.secret) // by the same name, and another one
	h.owner.Data(t, http.MethodDelete, "/api/conversations/"+id, nil)
	path := "/api/workspaces/" + id + "/files/text?path=" + fileName
	if code, answer := h.owner.JSON(t, http.MethodGet, path, nil); code != http.StatusNotFound {
		t.Errorf("after its conversation: %d %v", code, answer)
	}
	if text := h.guest.Data(t, http.MethodGet, path, nil)["text"]; text != h.guest.secret {
		t.Errorf("the file of somebody else reads %q", text)
	}
}
