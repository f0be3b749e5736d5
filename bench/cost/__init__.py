"""CPU of create, retrieve and pay beside that of another checkout, in turn, burst by burst."""
