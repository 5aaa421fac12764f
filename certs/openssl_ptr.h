// Owning pointers for OpenSSL's objects.
#pragma once
