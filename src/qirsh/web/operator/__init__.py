"""What operators do: actions by the control socket, and the page of an appointment."""
